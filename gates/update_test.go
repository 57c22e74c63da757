package gates

import "flag"

// update makes the frozen files of package fixtures anew:
//
//	go test ./gates -run 'TestGoldenBits|TestDecodedWeights' -update
//
// The second needs the llama.cpp library.
var update = flag.Bool("update", false, "make golden.yaml and decoded.yaml of package fixtures anew")
