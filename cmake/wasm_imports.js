// Names that web/latticino.mjs brings (src/wasm/exports.cc), for the linker alone: it refuses all others.
mergeInto(LibraryManager.library, {
  lt_write: function() {},
  lt_progress: function() {},
  lt_fail: function() {},
});
