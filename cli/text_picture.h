// A tensor's two layouts as a picture of text: who holds which rectangle of elements.
#pragma once

#include <string>

#include "core/layout/case.h"

namespace reshardcheck::cli {

/// Source and target grids, side by side where they fit, with the ranks in their regions. A layout with too many
/// pieces for a page gives one sentence instead. Ends in a newline.
std::string text_picture(const TensorCase& tensor);

}  // namespace reshardcheck::cli
