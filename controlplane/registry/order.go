package registry

import (
	"cmp"
	"slices"
	"strings"
)

// SortVersions puts the highest version first. Numbers in a tag compare as
// numbers, and a release comes before its own pre-releases: 1.10, 1.9, 1.9-rc1.
func SortVersions(tags []string) {
	slices.SortStableFunc(tags, func(a, b string) int { return -compareVersions(a, b) })
}

// compareVersions orders version-like tags above all others, which are
// ordered as text.
func compareVersions(a, b string) int {
	va, vb := isVersion(a), isVersion(b)
	if va != vb {
		if va {
			return 1
		}
		return -1
	}
	if !va {
		return cmp.Compare(a, b)
	}
	coreA, preA, _ := strings.Cut(trimVersionPrefix(a), "-")
	coreB, preB, _ := strings.Cut(trimVersionPrefix(b), "-")
	if c := compareNatural(coreA, coreB); c != 0 {
		return c
	}
	if (preA == "") != (preB == "") {
		if preA == "" {
			return 1
		}
		return -1
	}
	return compareNatural(preA, preB)
}

func trimVersionPrefix(tag string) string {
	return strings.TrimPrefix(strings.TrimPrefix(tag, "v"), "V")
}

func isVersion(tag string) bool {
	b := trimVersionPrefix(tag)
	return b != "" && b[0] >= '0' && b[0] <= '9'
}

// compareNatural compares part by part, numbers as numbers.
func compareNatural(a, b string) int {
	pa, pb := splitParts(a), splitParts(b)
	for i := range min(len(pa), len(pb)) {
		if c := comparePart(pa[i], pb[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(pa), len(pb))
}

// splitParts takes a text apart at separators and where letters meet digits, so
// that rc10 comes after rc2.
func splitParts(s string) []string {
	var all []string
	for _, word := range strings.FieldsFunc(s, func(r rune) bool {
		return strings.ContainsRune("._-+", r)
	}) {
		start := 0
		for i := 1; i < len(word); i++ {
			if isDigits(word[i-1:i]) != isDigits(word[i:i+1]) {
				all = append(all, word[start:i])
				start = i
			}
		}
		all = append(all, word[start:])
	}
	return all
}

func comparePart(a, b string) int {
	na, nb := isDigits(a), isDigits(b)
	if na && nb {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	if na != nb {
		// As in semantic versions: numbers come before words.
		if na {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
