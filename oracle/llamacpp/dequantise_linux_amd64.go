package llamacpp

import "github.com/ebitengine/purego"

// rowDecoder finds a function of libggml-base, which bind has opened for all to see.
func rowDecoder(symbol string) (func(src *byte, dst *float32, n int64), error) {
	at, err := purego.Dlsym(purego.RTLD_DEFAULT, symbol)
	if err != nil {
		return nil, &LayoutError{What: "symbols", Got: err.Error()}
	}
	var f func(src *byte, dst *float32, n int64)
	purego.RegisterFunc(&f, at)
	return f, nil
}
