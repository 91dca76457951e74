/* Included before every C++ file when the compiler is GCC (see compiler_faults.py).

   GCC's _tile_loadconfig declares that `ldtilecfg` reads one pointer's worth of memory,
   where it reads 64 bytes: the optimiser deletes the stores to the rest, and the first
   instruction on a tile is illegal. This one declares all 64. */

#ifdef __AMX_TILE__
#include <immintrin.h>
#define _tile_loadconfig(config) \
    __asm__ volatile("ldtilecfg\t%X0" ::"m"(*(const char(*)[64])(config)))
#endif
