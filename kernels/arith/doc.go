// Package arith is the arithmetic contract of assay, version 1, as slow and
// exact Go. Every kernel of every instruction set must give the bits of these
// functions; tests compare them value by value.
//
// Rules of the contract:
//
//   - Each float32 operation is IEEE-754 binary32, round to nearest even, in the
//     written order. A multiply-add is fused exactly where FMA32 is written.
//     Go may fuse x*y+z on arm64 and riscv64, so a product that is followed by
//     an addition is wrapped in an explicit float32(...) conversion.
//   - Products of quantised weights and int8 activations: the sum inside a block
//     is an exact int32; per output, blocks ascending,
//     acc = fma(float32(isum), dw*da, acc), and for formats with a minimum a
//     second acc = fma(mw, sa, acc) with sa = float32(sum of q)*da.
//   - Dot products of float weights: 8 lanes, lane l takes k = l mod 8, ascending;
//     a row is padded with zeros to a multiple of 8; see Tree8 for the sum.
//   - Outer-product chains (attention scores and values): one chain per output,
//     ascending over the summed index.
//   - Sums over a vector (norms, softmax): 16 lanes, then Tree16.
//   - NaN payloads are not part of the contract; that a value is NaN is.
//
// The package imports nothing of this project and knows nothing of tiles,
// threads or models.
package arith

// ContractVersion names this set of rules. It is written into evidence and
// golden files; changing a rule means a new number and new golden bits.
const ContractVersion = 1
