package wire

import (
	"errors"
	"fmt"
	"strings"
)

// errInvalidGoal ends a session: IDs and step keys become names of folders and containers,
// so only safe characters are accepted.
var errInvalidGoal = errors.New("a goal has impossible names")

// maxID leaves room in the names that ids become part of.
const maxID = 128

// validate rejects goals with IDs or step keys that are unsafe as a path component.
func (g Goals) validate() error {
	for _, one := range g.Goals {
		if !isPathComponent(one.Deployment) || one.Run != "" && !isPathComponent(one.Run) {
			return fmt.Errorf("%w: deployment %.100q, run %.100q", errInvalidGoal, one.Deployment,
				one.Run)
		}
		for _, s := range one.Pipeline.Steps {
			if !isPathComponent(string(s.Key)) {
				return fmt.Errorf("%w: step %.100q of deployment %s", errInvalidGoal, s.Key,
					one.Deployment)
			}
		}
	}
	return nil
}

// isPathComponent reports whether s is a single, safe component of a path.
func isPathComponent(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return s != "" && len(s) <= maxID && s[0] != '.' && strings.Trim(s, letters) == ""
}

func decodeGoals(e envelope) (Goals, error) {
	g, err := decodePayload[Goals](e)
	if err == nil {
		err = g.validate()
	}
	return g, err
}
