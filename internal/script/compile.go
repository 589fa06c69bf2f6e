package script

import (
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/nullops/nullops/internal/text"
)

// sourceName is the name of the script's source in positions.
const sourceName = "script"

// exportsName is the variable that the compiled script puts its exports into. Its own code
// cannot name it by accident.
const exportsName = "__nullops_exports"

// compileModule turns an ECMAScript or TypeScript module into a script that the interpreter
// understands. The source map leads back to the places of the module.
func compileModule(source string) (code string, places *sourcemap.Consumer, _ *Problem) {
	out := api.Transform(source, api.TransformOptions{
		Loader: api.LoaderTS, Sourcefile: sourceName, Sourcemap: api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Format:         api.FormatIIFE, GlobalName: exportsName, Target: api.ES2019,
		// The interpreter has BigInt; it lacks asynchronous generators.
		Supported: map[string]bool{
			"bigint": true, "async-generator": false, "for-await": false,
		},
		LogLevel: api.LogLevelSilent, Color: api.ColorNever,
	})
	if len(out.Errors) == 0 {
		// A script without code has an empty map, which is an error there.
		places, _ = sourcemap.Parse("", out.Map)
		return string(out.Code), places, nil
	}
	first := out.Errors[0]
	p := &Problem{Kind: Syntax, Message: text.Clip(rewordSyntax(first.Text), maxMessage)}
	if at := first.Location; at != nil {
		p.Line, p.Column = at.Line, at.Column+1
	}
	return "", nil, p
}

// rewordSyntax replaces what the compiler says about its own options.
func rewordSyntax(text string) string {
	if strings.HasPrefix(text, "Top-level await") {
		return "await stands outside of a function; move it into the default function"
	}
	return text
}
