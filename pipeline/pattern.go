package pipeline

import (
	"fmt"
	"path"
	"strings"
)

// MaxPattern is the longest tag pattern in bytes, as long as a tag may be.
const MaxPattern = 128

// separators is what "/" in a pattern matches. Tags cannot hold a "/", so
// builds flatten branch names with one of the others.
const separators = `[/\-_.]`

// CheckPattern says what is wrong with a tag pattern.
func CheckPattern(pattern string) error {
	if len(pattern) > MaxPattern {
		return fmt.Errorf("the pattern has %d bytes; %d are the most", len(pattern), MaxPattern)
	}
	translated, err := translatePattern(pattern)
	if err != nil {
		return err
	}
	if _, err := path.Match(translated, ""); err != nil {
		return fmt.Errorf("the pattern %q is malformed: a [ or a \\ is left open", pattern)
	}
	return nil
}

// MatchTag reports whether a tag may be chosen under a pattern: "*" is any run
// of characters, "?" one, "[a-z]" one of a set, and "/" any one of "/ - _ .".
// An empty pattern matches every tag.
func MatchTag(pattern, tag string) (bool, error) {
	matches, err := TagMatcher(pattern)
	return err == nil && matches(tag), err
}

// TagMatcher is MatchTag for many tags: the pattern is read once.
func TagMatcher(pattern string) (func(tag string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	if err := CheckPattern(pattern); err != nil {
		return nil, err
	}
	translated, err := translatePattern(pattern)
	if err != nil {
		return nil, err
	}
	return func(tag string) bool {
		ok, err := path.Match(translated, tag)
		return ok && err == nil
	}, nil
}

func translatePattern(pattern string) (string, error) {
	var b strings.Builder
	inSet := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
			continue
		case c == '/' && inSet:
			return "", fmt.Errorf("the pattern %q has a / inside [ ]; write it outside", pattern)
		case c == '/':
			b.WriteString(separators)
			continue
		case c == '[':
			inSet = true
		case c == ']':
			inSet = false
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}
