// A case as an SVG picture: who holds what before, and where every piece of it goes.
//
// Every source shard has a colour. The source grid shows the shards with the ranks that hold them; the target grid
// shows in the same colours where its elements come from, with the target shards outlined and labelled. Both grids
// of a tensor share their scale, so a piece is seen in the same place on both sides.
#pragma once

#include <string>

#include "core/layout/case.h"

namespace reshardcheck::cli {

std::string svg_picture(const Case& value);

}  // namespace reshardcheck::cli
