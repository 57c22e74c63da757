package arith

// RotatePair is one pair of the rotary embedding:
// (u, w) -> (fma(u, cos, -(w*sin)), fma(w, cos, u*sin)).
func RotatePair(u, w, cos, sin float32) (float32, float32) {
	return FMA32(u, cos, -float32(w*sin)), FMA32(w, cos, float32(u*sin))
}
