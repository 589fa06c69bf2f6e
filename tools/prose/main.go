// Command prose checks the pages that people read for words that the glossary rules out, and for
// words that stand twice:
//
//	tools/run prose [FILE...]
//
// The words are in the section "Words that we leave out" of docs/glossary.md. Code, generated pages
// and the glossary itself are left out. 'make lint' runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := checkPages(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

const glossary = "docs/glossary.md"

func checkPages(files []string) error {
	text, err := os.ReadFile(glossary)
	if err != nil {
		return fmt.Errorf("run this at the top of the repository: %w", err)
	}
	rules, err := readRules(string(text))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		if files, err = listPages(); err != nil {
			return err
		}
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, f := range checkText(string(text), rules) {
			fmt.Printf("%s:%d: %s\n", file, f.line, f.says)
			found++
		}
	}
	if found > 0 {
		return fmt.Errorf("%d words to replace", found)
	}
	return nil
}

// listPages lists what people read: the pages of the site, and those at the top.
func listPages() (files []string, err error) {
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "*.md", "deploy/README.md",
		"ui/README.md"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
	}
	// The others are records that tests add to.
	apart := []string{glossary, "docs/flaky.md", "docs/mutants.md"}
	return slices.DeleteFunc(files, func(f string) bool { return slices.Contains(apart, f) }), nil
}

// rule is a word that is left out, and what stands instead.
type rule struct {
	words   *regexp.Regexp
	instead string
}

// readRules reads the glossary's table.
func readRules(text string) (rules []rule, err error) {
	_, section, ok := strings.Cut(text, "\n## Words that we leave out\n")
	if !ok {
		return nil, errors.New(glossary + " has no section \"Words that we leave out\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 || strings.Contains(cells[1], "---") || cells[2] == " write " {
			continue
		}
		var words []string
		for word := range strings.SplitSeq(cells[1], ",") {
			words = append(words, regexp.QuoteMeta(strings.TrimSpace(word)))
		}
		// A word of the list is no part of a longer one.
		pattern := `(?i)(?:^|[^\pL-])(` + strings.Join(words, "|") + `)(?:$|[^\pL-])`
		rules = append(rules, rule{regexp.MustCompile(pattern), strings.TrimSpace(cells[2])})
	}
	if len(rules) == 0 {
		return nil, errors.New("the glossary's table of words has no rows")
	}
	return rules, nil
}

type finding struct {
	line int
	says string
}

var (
	generated  = regexp.MustCompile("(?i)(made|written)\\s+by\\s+(tools/|`make )")
	inlineCode = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	// word is looked for twice in a row; "that that" and "had had" can be right and are rewritten
	// all the same.
	word = regexp.MustCompile(`\pL+`)
)

func checkText(text string, rules []rule) (all []finding) {
	if generated.MatchString(text) {
		return nil // what made it is checked by its own tests
	}
	inBlock, number := false, 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inBlock = !inBlock
			continue
		}
		if inBlock || strings.HasPrefix(line, "    ") {
			continue
		}
		line = linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(line, "`"), "]")
		for _, r := range rules {
			for _, m := range r.words.FindAllStringSubmatch(line, -1) {
				all = append(all, finding{number, fmt.Sprintf("%q: write %s", m[1], r.instead)})
			}
		}
		if twice := findTwice(line); twice != "" {
			all = append(all, finding{number, fmt.Sprintf("%q stands twice", twice)})
		}
	}
	return all
}

// findTwice returns a word that stands twice in a row, with nothing but a space between.
func findTwice(line string) string {
	at := word.FindAllStringIndex(line, -1)
	for i := 1; i < len(at); i++ {
		first, second := line[at[i-1][0]:at[i-1][1]], line[at[i][0]:at[i][1]]
		if strings.EqualFold(first, second) && line[at[i-1][1]:at[i][0]] == " " && len(first) > 1 {
			return first
		}
	}
	return ""
}
