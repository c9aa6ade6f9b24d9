#include "io/files.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

constexpr std::size_t kLongestText = 1 << 16;

}  // namespace

void save_params(Sink& sink, const Params& params) {
  Encoder metadata;
  metadata.text(params.canonical_text());
  Header header;
  header.type = ObjectType::Params;
  header.params_hash = hash_bytes(params.hash());
  Writer(sink, header, metadata).finish();
}

std::shared_ptr<const Params> load_params(Source& source) {
  Reader reader(source, ObjectType::Params);
  reader.require_payload(0);
  Decoder metadata = reader.metadata();
  const std::string text = metadata.text(kLongestText);
  metadata.finish();
  reader.finish();
  auto params = Params::check(parse_params(text));
  reader.require_params(*params);
  return params;
}

}  // namespace latticino::io
