package gitfetch

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Modes of tree entries, as git writes them.
const (
	modeFolder    = "40000"
	modeLink      = "120000"
	modeSubmodule = "160000"
)

type treeEntry struct {
	mode, name, hash string
	// path is that in the repository, of files that were found.
	path string
}

// readTree reads the entries of a folder. Names that no folder has in a checkout are refused: they
// are made to mislead.
func (w *walk) readTree(hash, at string) (all []treeEntry, err error) {
	o, err := w.objects.getObject(hash, kindTree)
	if err != nil {
		return nil, err
	}
	for rest := o.data; len(rest) > 0; {
		mode, after, ok := bytes.Cut(rest, []byte(" "))
		name, after, closed := bytes.Cut(after, []byte{0})
		if !ok || !closed || len(after) < hashSize {
			return nil, newDamagedError("a folder cannot be read")
		}
		e := treeEntry{mode: strings.TrimLeft(string(mode), "0"), name: string(name),
			hash: hex.EncodeToString(after[:hashSize])}
		if !isPlainName(e.name) {
			return nil, &Error{Code: "path_hostile",
				Message: fmt.Sprintf("the folder %q has an entry named %q, which is no name of a file",
					at, e.name),
				Remedy: "Rename it in the repository."}
		}
		all, rest = append(all, e), after[hashSize:]
	}
	return all, nil
}

func isPlainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 &&
		!strings.EqualFold(name, ".git") && !strings.ContainsAny(name, `/\`) &&
		utf8.ValidString(name) && strings.IndexFunc(name, unicode.IsControl) < 0
}

// splitSignature reads "Ada <ada@example.org> 1700000000 +0100".
func splitSignature(text string) (name string, at time.Time) {
	name, rest, _ := strings.Cut(text, " <")
	_, rest, _ = strings.Cut(rest, "> ")
	word, _, _ := strings.Cut(rest, " ")
	if seconds, err := strconv.ParseInt(word, 10, 64); err == nil {
		at = time.Unix(seconds, 0).UTC()
	}
	return firstLine(name), at
}
