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

// storyLists has all browser stories: those of every run, those in rotation, and those that take
// minutes, by the names under which it imports them.
const storyLists = "ui/e2e/stories.mjs"

var (
	imported = regexp.MustCompile(`(?m)^import \{([^}]*)\} from "\./([a-z-]+\.mjs)";`)
	lists    = regexp.MustCompile(`(?s)export const (every|rotated|slow) = \[(.*?)\]`)
	bound    = regexp.MustCompile(`\w+$`)
)

// findMarkedFiles returns the files without a story of every run, each with its mark.
func findMarkedFiles(root fs.FS) (map[string]string, error) {
	text, err := fs.ReadFile(root, storyLists)
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
	if len(named["every"]) == 0 || len(named["rotated"]) == 0 || len(named["slow"]) == 0 {
		return nil, fmt.Errorf("%s has no lists `every`, `rotated` and `slow` any more", storyLists)
	}
	files := map[string]string{}
	for _, match := range imported.FindAllStringSubmatch(string(text), -1) {
		in := func(list string) bool {
			return slices.ContainsFunc(strings.Split(match[1], ","), func(part string) bool {
				return slices.Contains(named[list], bound.FindString(strings.TrimSpace(part)))
			})
		}
		name := path.Join(path.Dir(storyLists), match[2])
		switch {
		case in("every"):
		case in("rotated"):
			files[name] = inRotation
		case in("slow"):
			files[name] = " (slow)"
		}
	}
	return files, nil
}

// markFiles says of each claim in one of those files when it is shown.
func markFiles(claims map[string][]string, files map[string]string) {
	for _, tests := range claims {
		for i, test := range tests {
			name, _, _ := strings.Cut(strings.TrimPrefix(test, "`"), "`")
			tests[i] = test + files[name]
		}
	}
}
