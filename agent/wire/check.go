package wire

import (
	"errors"
	"fmt"
	"strings"
)

// errInvalidGoal ends a session: IDs and step keys become names of folders and containers,
// so only safe characters are accepted.
var errImpossible = errors.New("a goal has impossible names")

// maxID leaves room in the names that ids become part of.
const maxID = 128

// validate rejects goals with IDs or step keys that are unsafe as a path component.
func (g Goals) check() error {
	for _, one := range g.Goals {
		if !plain(one.Deployment) || one.Run != "" && !plain(one.Run) {
			return fmt.Errorf("%w: deployment %.100q, run %.100q", errImpossible, one.Deployment,
				one.Run)
		}
		for _, s := range one.Pipeline.Steps {
			if !plain(string(s.Key)) {
				return fmt.Errorf("%w: step %.100q of deployment %s", errImpossible, s.Key,
					one.Deployment)
			}
		}
	}
	return nil
}

// isPathComponent reports whether s is a single, safe component of a path.
func plain(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return s != "" && len(s) <= maxID && s[0] != '.' && strings.Trim(s, letters) == ""
}

func checkedGoals(e envelope) (Goals, error) {
	g, err := payload[Goals](e)
	if err == nil {
		err = g.check()
	}
	return g, err
}
