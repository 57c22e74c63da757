// Package llamacpp is the live oracle: it opens the published llama.cpp library at run time and records evidence, tokenises and
// times with it. Nothing is linked and nothing is needed to build: on platforms other than linux/amd64, and where the library is
// not installed, Open answers with a *NotAvailableError.
//
// The binding knows one release (Release); its struct layouts are checked against the library's own default values, and another
// release is refused. An assertion inside the library aborts the process, so a command that must survive it runs Serve in a
// child process through Client: one Request in, one Response out, both JSON.
//
// The package must not know the engine under test.
package llamacpp
