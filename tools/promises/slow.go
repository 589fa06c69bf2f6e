package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// runner runs the browser stories. It lists those of every run and those that
// take minutes, by the names under which it imports them.
const runner = "ui/e2e/run.mjs"

var (
	imported = regexp.MustCompile(`(?m)^import \{([^}]*)\} from "\./([a-z-]+\.mjs)";`)
	lists    = regexp.MustCompile(`(?s)const (all|slow) = \[(.*?)\]`)
	bound    = regexp.MustCompile(`\w+$`)
)

// findSlowFiles returns the files of which every story is a slow one.
func findSlowFiles(root fs.FS) ([]string, error) {
	text, err := fs.ReadFile(root, runner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	named := map[string][]string{}
	for _, match := range lists.FindAllStringSubmatch(string(text), -1) {
		named[match[1]] = regexp.MustCompile(`\w+`).FindAllString(match[2], -1)
	}
	if len(named["all"]) == 0 || len(named["slow"]) == 0 {
		return nil, fmt.Errorf("%s has no lists `all` and `slow` any more", runner)
	}
	var files []string
	for _, match := range imported.FindAllStringSubmatch(string(text), -1) {
		in := func(list string) bool {
			return slices.ContainsFunc(strings.Split(match[1], ","), func(part string) bool {
				return slices.Contains(named[list], bound.FindString(strings.TrimSpace(part)))
			})
		}
		if in("slow") && !in("all") {
			files = append(files, path.Join(path.Dir(runner), match[2]))
		}
	}
	return files, nil
}

// markSlowClaims says of each claim in one of those files when it is shown.
func markSlowClaims(claims map[string][]string, files []string) {
	for _, tests := range claims {
		for i, test := range tests {
			name, _, _ := strings.Cut(strings.TrimPrefix(test, "`"), "`")
			if slices.Contains(files, name) {
				tests[i] = test + " (slow)"
			}
		}
	}
}
