package accounts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// findClaim looks a claim up by its path. A name that exists as a whole wins
// at every level, because names such as "https://example.org/groups" contain
// dots themselves. ok is false if the provider did not send the claim.
func findClaim(all map[string]any, path string) (value any, ok bool) {
	if value, ok = all[path]; ok {
		return value, value != nil
	}
	for at, r := range path {
		if r != '.' {
			continue
		}
		inner, isObject := all[path[:at]].(map[string]any)
		if !isObject {
			continue
		}
		if value, ok = findClaim(inner, path[at+1:]); ok {
			return value, true
		}
	}
	return nil, false
}

// splitGroups reads the value of the group claim. A string is one group, also
// with spaces in it, unless the admin configured a separator: to split
// "Site admins" would make its members members of "admins".
func splitGroups(path string, value any, separator string) ([]string, error) {
	switch v := value.(type) {
	case string:
		return splitText(v, separator), nil
	case []any:
		groups := make([]string, 0, len(v))
		for _, item := range v {
			group, ok := item.(string)
			if !ok {
				return nil, unreadableGroups(path)
			}
			groups = append(groups, group)
		}
		return groups, nil
	default:
		return nil, unreadableGroups(path)
	}
}

func splitText(text, separator string) []string {
	if separator == "" {
		return slices.DeleteFunc([]string{text}, func(s string) bool { return s == "" })
	}
	var groups []string
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			groups = append(groups, part)
		}
	}
	return groups
}

// unreadableGroups refuses the sign-in: to read such a claim as "no groups"
// would take teams and roles away without a word.
func unreadableGroups(path string) error {
	return &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "groups_unreadable",
		Message: fmt.Sprintf("the claim %q of the OpenID provider is neither a string nor a "+
			"list of strings", path),
		Remedy: "Ask an admin to let the setting oidc.claim name the claim with the group names.",
	}
}
