// Package script runs the JavaScript of script steps. The code is foreign, so it never runs in
// the process that asks: Runner starts this binary again in a role of its own, which gives up
// everything it can (see confineProcess) before it reads the script, and answers on stdout.
//
// The interpreter is goja. esbuild turns ECMAScript modules and TypeScript into what goja
// understands; it runs inside the confined process too, because a hostile source can make a
// parser use as much memory as a hostile script.
package script
