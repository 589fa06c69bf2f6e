package output

import (
	"io"
	"os"
)

// WantsColors reports whether w is a terminal, and neither NO_COLOR nor TERM=dumb is set.
func WantsColors(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && IsTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
