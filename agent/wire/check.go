package wire

import (
	"errors"
	"fmt"
	"strings"
)

// errImpossible ends a session: ids and step keys become names of folders and
// of containers, so nothing else may be in them.
var errImpossible = errors.New("a goal has impossible names")

// maxID leaves room in the names that ids become part of.
const maxID = 128

// check holds goals to what may become part of a path.
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

// plain holds for what is one component of a path, and no special one.
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
