// As on all of CDNA.
#pragma once

#include "tile/cdna/copy.h"
