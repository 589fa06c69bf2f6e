package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/nullops/nullops/controlplane"
)

// claims is what we believe of what the provider says about a person.
type claims struct {
	Issuer, Subject string
	Name            string
	Username        string
	Email           string
	Verified        bool
	groups          []string
	// noGroups says why the groups are not known; empty if they are. Not known
	// is not the same as none: it must not take teams and roles away.
	noGroups string
}

// readClaims reads the ID token, and what it lacks from the userinfo endpoint.
func (p *Provider) readClaims(
	ctx context.Context, token *oidc.IDToken, access *oauth2.Token,
) (c claims, err error) {
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		return c, refusedAnswerError(err)
	}
	var infoErr error
	if p.lacksClaims(all) {
		var info map[string]any
		if info, infoErr = p.readUserinfo(ctx, token.Subject, access); infoErr == nil {
			addClaims(all, info, p.Claim)
		}
	}
	if !isStorable(token.Subject) || token.Subject == "" {
		return c, refusedAnswerError(errors.New("the subject is empty or holds a NUL character"))
	}
	c = claims{Issuer: token.Issuer, Subject: token.Subject, Name: textClaim(all, "name"),
		Username: textClaim(all, "preferred_username"), Email: textClaim(all, "email"),
		Verified: isTrue(all["email_verified"])}
	value, ok := findClaim(all, p.Claim)
	if ok {
		c.groups, err = splitGroups(p.Claim, value, p.Separator)
		return c, err
	}
	c.noGroups = explainNoGroups(all, p.Claim, infoErr)
	return c, nil
}

// lacksClaims reports whether the userinfo endpoint could say more than the ID
// token. Many providers keep ID tokens short and say the rest only there.
func (p *Provider) lacksClaims(all map[string]any) bool {
	for _, name := range []string{"email", "email_verified", "preferred_username"} {
		if all[name] == nil {
			return true
		}
	}
	_, ok := findClaim(all, p.Claim)
	return !ok && p.mapsGroups()
}

// mapsGroups reports whether groups decide anything here.
func (p *Provider) mapsGroups() bool { return len(p.Teams) > 0 || p.Admins != "" }

// readUserinfo asks the userinfo endpoint. An answer about another subject must
// not be used, says OpenID Connect Core 5.3.2.
func (p *Provider) readUserinfo(
	ctx context.Context, subject string, access *oauth2.Token,
) (all map[string]any, err error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found.UserInfoEndpoint() == "" {
		return nil, errors.New("the provider has no userinfo endpoint")
	}
	// p.found holds the context in which it was discovered; the client is in ctx.
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(access))
	if err != nil {
		return nil, fmt.Errorf("read userinfo: %w", err)
	}
	if info.Subject != subject {
		return nil, errors.New("the userinfo endpoint answered about another subject")
	}
	if err := info.Claims(&all); err != nil {
		return nil, fmt.Errorf("read userinfo: %w", err)
	}
	return all, nil
}

// addClaims adds what the ID token lacks. Whether an address is verified is
// only taken over for the address that it belongs to.
func addClaims(all, info map[string]any, groups string) {
	for _, name := range []string{"name", "preferred_username"} {
		if all[name] == nil {
			all[name] = info[name]
		}
	}
	if all["email"] == nil {
		all["email"], all["email_verified"] = info["email"], info["email_verified"]
	}
	if all["email_verified"] == nil && textClaim(all, "email") == textClaim(info, "email") {
		all["email_verified"] = info["email_verified"]
	}
	if _, ok := findClaim(all, groups); ok {
		return
	}
	if value, ok := findClaim(info, groups); ok {
		all[groups] = value
	}
}

// explainNoGroups says for the log and the audit why the groups are unknown.
func explainNoGroups(all map[string]any, groups string, infoErr error) string {
	why := "the provider sent no claim " + groups
	if sources, ok := all["_claim_names"].(map[string]any); ok && sources[groups] != nil {
		why = "too many groups: the provider sent a reference instead of the claim " + groups
	}
	if infoErr != nil {
		why += "; " + infoErr.Error()
	}
	return why
}

// textClaim returns a claim's text. One that cannot be stored is as good as missing: to repair an
// address would make another person's of it.
func textClaim(all map[string]any, name string) string {
	text, _ := all[name].(string)
	if !isStorable(text) {
		return ""
	}
	return text
}

// isStorable reports whether PostgreSQL takes a text.
func isStorable(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// isTrue accepts "true" as well, in any case: several providers send the boolean claim
// email_verified as a string.
func isTrue(value any) bool {
	text, _ := value.(string)
	return value == true || strings.EqualFold(text, "true")
}

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

// unreadableGroups refuses the sign-in. Reading such a claim as "no groups" would silently take
// teams and roles away.
func unreadableGroups(path string) error {
	return &controlplane.Error{
		Kind: controlplane.Unauthenticated, Code: "groups_unreadable",
		Message: fmt.Sprintf("the claim %q of the OpenID provider is neither a string nor a "+
			"list of strings", path),
		Remedy: "Ask an admin to let the setting oidc.claim name the claim with the group names.",
	}
}
