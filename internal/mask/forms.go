package mask

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxWrapped is the longest secret whose wrapped encodings are known. The number of patterns
// grows with a secret's length; programs that print longer ones print files.
const maxWrapped = 4 << 10

// quotedForms returns a secret as quoting writes it where the quoted text may not hold a
// character: POSIX shells and their traces end the quotes around an apostrophe; SQL, CSV and
// PowerShell double quotes; Compose doubles dollar signs, and printf percent signs. Escapes
// with a backslash are undone in the text instead.
func quotedForms(secret string) (all []string) {
	for _, q := range []struct{ plain, quoted string }{
		{`'`, `'\''`}, {`'`, `'"'"'`}, {`'`, `''`}, {`"`, `""`}, {`$`, `$$`}, {`%`, `%%`},
	} {
		if strings.Contains(secret, q.plain) {
			all = append(all, strings.ReplaceAll(secret, q.plain, q.quoted))
		}
	}
	return all
}

// wrapping is an encoding that programs break into lines.
type wrapping struct {
	// bytes of text make one line.
	bytes int
	// most is how many bytes may stand before the secret.
	most int
	// core encodes what depends on the text alone when offset bytes stand before it.
	core func(text string, offset int) string
}

// wrappings are those of MIME and of the command base64, of PEM, and of xxd. The first is
// usual for files that hold a secret somewhere. The others are known for a secret alone, to
// keep the number of patterns small.
var wrappings = []wrapping{{57, 56, wrappedBase64}, {48, 0, wrappedBase64}, {30, 0, wrappedHex}}

func wrappedBase64(text string, offset int) string {
	return base64Core(base64.RawStdEncoding, text, offset)
}

func wrappedHex(text string, _ int) string { return hex.EncodeToString([]byte(text)) }

// wrappedForms returns the parts of a secret's encodings that come to stand on one line each.
// Parts of fewer than minSecret characters are
// left out: they would be found everywhere.
func wrappedForms(secret string) (all []string) {
	if len(secret) > maxWrapped {
		return nil
	}
	for _, w := range wrappings {
		for before := range w.most + 1 {
			if before+len(secret) <= w.bytes {
				continue // it fits into the line, and is known as a whole
			}
			all = append(all, w.core(secret[:w.bytes-before], before%3))
			for line := range slices.Chunk([]byte(secret[w.bytes-before:]), w.bytes) {
				all = append(all, w.core(string(line), 0))
			}
		}
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < minSecret })
}

// secretKey finds the members of a JSON document that hold a secret, by their names.
var secretKey = regexp.MustCompile(`(?i)pass|secret|token|key|credential|auth`)

// secretParts returns what a program takes out of a secret and may print by itself: the
// password of a URL, and the secret members of a JSON document.
func secretParts(secret string) (all []string) {
	if u, err := url.Parse(secret); err == nil && u.Scheme != "" && u.User != nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	if text := strings.TrimSpace(secret); strings.HasPrefix(text, "{") {
		var tree any
		if json.Unmarshal([]byte(text), &tree) == nil {
			all = append(all, secretMembers(tree, false)...)
		}
	}
	return all
}

// secretMembers collects the strings below a member whose name says that they are secret.
func secretMembers(tree any, secret bool) (all []string) {
	switch v := tree.(type) {
	case string:
		if secret {
			all = append(all, v)
		}
	case []any:
		for _, item := range v {
			all = append(all, secretMembers(item, secret)...)
		}
	case map[string]any:
		for name, item := range v {
			all = append(all, secretMembers(item, secret || secretKey.MatchString(name))...)
		}
	}
	return all
}
