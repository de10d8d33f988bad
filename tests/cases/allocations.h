// Counts calls of operator new, of the whole program and its shared objects.
#pragma once

namespace wavefire::cases {

void start_counting_allocations();
int stop_counting_allocations();

}  // namespace wavefire::cases
