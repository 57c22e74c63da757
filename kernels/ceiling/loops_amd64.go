package ceiling

import "assay/kernels/cpu"

func init() {
	read := func(p []byte) uint64 {
		if len(p) < 256 {
			return 0
		}
		return readAVX2(&p[0], len(p)/256)
	}
	levels = append(levels,
		loops{level: cpu.AVX2, read: read, round: 512, multiply: func(act []byte, n int) uint64 {
			int8PeakAVX2(&act[:64][0], n)
			return 0
		}},
		loops{level: cpu.AVX512, read: read, round: 1024, multiply: func(act []byte, n int) uint64 {
			int8PeakAVX512(&act[:64][0], n)
			return 0
		}})
}
