package compose

import (
	"fmt"
	"maps"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
)

// ParseVariables reads a file of variables as Compose does, one NAME=VALUE a
// line. Its values may refer to those that are known already. No error repeats a
// value, since such files hold passwords.
func ParseVariables(file File, known map[string]string) (map[string]string, error) {
	if len(file.Text) > MaxBytes {
		return nil, fmt.Errorf("%s: the file is larger than %d bytes", file.Name, MaxBytes)
	}
	found, err := dotenv.ParseWithLookup(strings.NewReader(string(file.Text)),
		func(name string) (string, bool) {
			value, ok := known[name]
			return value, ok
		})
	if err != nil {
		line := 0
		_, _ = fmt.Sscanf(err.Error(), "line %d:", &line)
		return nil, &Refusal{File: file.Name, Line: line,
			Message: "this is no line of a file of variables; write NAME=VALUE"}
	}
	all := maps.Clone(known)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, found)
	return all, nil
}
