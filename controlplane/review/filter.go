package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// traits are what a rule's filter looks at.
type traits struct {
	// target is the branch that a pull request is to be merged into.
	target, author string
	labels         []string
	draft          bool
	// paths are the files that it changes, under their old and their new names.
	paths []string
	// pathsUnknown and authorUnknown are set if the source did not say: the code host is asked.
	pathsUnknown, authorUnknown bool
}

// reasonOutside says why a filter leaves out a pull request, as a sentence; "" if it does not.
// What is not known decides nothing.
func (t traits) reasonOutside(f controlplane.ReviewFilter) string {
	if ok, err := pipeline.MatchTag(f.Target, t.target); err != nil || !ok {
		return fmt.Sprintf("It goes into %s, and the rule is for %s.", named(t.target), f.Target)
	}
	if f.SkipDrafts && t.draft {
		return "It is a draft, and the rule leaves out drafts."
	}
	if !matchNames(f.Labels, t.labels) {
		return "Its labels do not match those of the rule: " + describeList(f.Labels) + "."
	}
	if !t.authorUnknown && !matchNames(f.Authors, []string{t.author}) {
		return fmt.Sprintf("Its author is %s, and the rule is for %s.", named(t.author),
			describeList(f.Authors))
	}
	if !t.pathsUnknown && !matchPaths(f.Paths, t.paths) {
		return "It changes nothing that the rule is for: " + describeList(f.Paths) + "."
	}
	return ""
}

func named(text string) string {
	if text == "" {
		return "an unknown one"
	}
	return clipText(text, 100)
}

// describeList names the first entries; the rest is on the rule's page.
func describeList(entries []string) string {
	const most = 3
	text := strings.Join(entries[:min(len(entries), most)], ", ")
	if more := len(entries) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return clipText(text, 250)
}

// matchNames reports whether names fit entries: none that an entry with "!" leaves out, and at
// least one of those that are wanted, if any is.
func matchNames(entries, names []string) bool {
	wanted, unwanted := splitEntries(entries)
	has := func(entry string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, entry) })
	}
	return !slices.ContainsFunc(unwanted, has) &&
		(len(wanted) == 0 || slices.ContainsFunc(wanted, has))
}

// matchPaths reports whether one of the files is wanted and not left out: a pull request that
// changes documents and code is not one of documents only.
func matchPaths(patterns, files []string) bool {
	if len(patterns) == 0 {
		return true
	}
	wanted, unwanted := splitEntries(patterns)
	return slices.ContainsFunc(files, func(file string) bool {
		is := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, file) }
		return (len(wanted) == 0 || slices.ContainsFunc(wanted, is)) &&
			!slices.ContainsFunc(unwanted, is)
	})
}

func splitEntries(entries []string) (wanted, unwanted []string) {
	for _, e := range entries {
		if rest, found := strings.CutPrefix(e, "!"); found {
			unwanted = append(unwanted, rest)
		} else {
			wanted = append(wanted, e)
		}
	}
	return wanted, unwanted
}

// needsHost reports whether the events of a rule's source do not hold all that its filter looks at.
func needsHost(rule controlplane.ReviewRule) bool {
	switch rule.Source {
	case controlplane.ReviewGitHub, controlplane.ReviewGitea:
		return len(rule.Filter.Paths) > 0
	case controlplane.ReviewGitLab:
		return len(rule.Filter.Paths) > 0 || len(rule.Filter.Authors) > 0
	default:
		return false
	}
}

// maxEntries bounds each list of a filter, and maxEntry each of its entries.
const (
	maxEntries = 50
	maxEntry   = 200
)

// checkFilter refuses what could match nothing or would be read otherwise than it is meant.
func checkFilter(rule controlplane.ReviewRule) error {
	f := rule.Filter
	if _, err := pipeline.MatchTag(f.Target, "x"); err != nil {
		return controlplane.NewInvalidError("filter.target", "pattern_invalid", err.Error(),
			"Write it as release/*, for example.")
	}
	for _, list := range []struct {
		field   string
		entries []string
	}{{"filter.labels", f.Labels}, {"filter.authors", f.Authors}, {"filter.paths", f.Paths}} {
		if len(list.entries) > maxEntries {
			return controlplane.NewInvalidError(list.field, "filter_long",
				fmt.Sprintf("there are %d entries, and at most %d are possible", len(list.entries),
					maxEntries), "Use patterns, or make a second rule.")
		}
		for i, e := range list.entries {
			name := strings.TrimPrefix(e, "!")
			if name == "" || name != strings.TrimSpace(name) || len(name) > maxEntry {
				return controlplane.NewInvalidError(fmt.Sprintf("%s[%d]", list.field, i),
					"filter_invalid", "an entry is a name without spaces around it, of at most 200 bytes",
					`Write the name, or "!" and the name to leave it out.`)
			}
		}
	}
	for i, p := range f.Paths {
		pattern := strings.TrimPrefix(p, "!")
		if !doublestar.ValidatePattern(pattern) || strings.HasPrefix(pattern, "/") {
			return controlplane.NewInvalidError(fmt.Sprintf("filter.paths[%d]", i),
				"pattern_invalid", fmt.Sprintf("%q is not a pattern of paths in a repository", p),
				"Write it as web/**, for example: without a slash at its beginning.")
		}
	}
	if rule.Source == controlplane.ReviewRegistry && !f.IsEmpty() {
		return controlplane.NewInvalidError("filter", "filter_impossible",
			"a registry knows neither labels nor authors of what is pushed",
			"Remove the filter, or use a rule for the code host.")
	}
	return nil
}
