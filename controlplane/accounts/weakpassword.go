package accounts

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // the form of the lists of breached passwords
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/trustelem/zxcvbn"

	"github.com/nullops/nullops/controlplane"
)

const (
	// leastGuesses is how many guesses a new password withstands of somebody who knows the
	// usual passwords, words, names, keyboard rows and replacements, and what we know of the
	// person.
	leastGuesses = 1e8
	// estimated bounds the work: the estimate takes more than linear time, and nothing that is
	// weak is longer.
	estimated = 100
)

// contextWords are guessed first here. docs/accounts.md lists them.
var contextWords = []string{"nullops", "admin", "administrator", "deployment", "environment"}

// checkStrength refuses a new password that is guessed easily or was breached. words are what an
// attacker knows about the person, such as name and address.
func (a *Accounts) checkStrength(
	field string, p controlplane.Plain, words ...string,
) error {
	text := p.Reveal()
	known := append([]string{}, contextWords...)
	for _, w := range words {
		known = append(known, strings.FieldsFunc(strings.ToLower(w), func(r rune) bool {
			return strings.ContainsRune(" @.-_+", r)
		})...)
	}
	if zxcvbn.PasswordStrength(cutRunes(text, estimated), known).Guesses < leastGuesses {
		return controlplane.NewInvalidError(field, "password_common",
			"this password is guessed easily: it is common, a pattern, or made of your name",
			"Choose another one; a few random words are good.")
	}
	breached, err := a.isBreached(text)
	if err != nil {
		return fmt.Errorf("setting passwords.breached: %w", err)
	}
	if breached {
		return controlplane.NewInvalidError(field, "password_breached",
			"this password is in a list of breached passwords",
			"Choose another one, and do not use this one anywhere.")
	}
	return nil
}

func cutRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), n)])
}

// isBreached looks the password up in the operator's list: lines of upper-case SHA-1 and a
// count, sorted, as haveibeenpwned.com offers them. The list is not read into memory.
func (a *Accounts) isBreached(password string) (bool, error) {
	if a.breached == "" {
		return false, nil
	}
	f, err := os.Open(a.breached)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	sum := sha1.Sum([]byte(password)) //nolint:gosec // not for secrecy
	want := []byte(strings.ToUpper(hex.EncodeToString(sum[:])))
	var failed error
	// The first place at or after which every whole line is not below the wanted one.
	at := sort.Search(int(info.Size()), func(at int) bool {
		line, err := readLineAfter(f, int64(at))
		failed = errors.Join(failed, err)
		return line == nil || bytes.Compare(line, want) >= 0
	})
	line, err := readLineAfter(f, int64(at))
	return bytes.HasPrefix(bytes.ToUpper(line), want), errors.Join(failed, err)
}

// readLineAfter returns the first line that begins at or after the offset, nil at the end.
func readLineAfter(f io.ReaderAt, at int64) ([]byte, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, max(0, at-1), 1<<10), 1<<8)
	if at > 0 {
		if _, err := r.ReadSlice('\n'); err != nil {
			return nil, ignoreEOF(err)
		}
	}
	line, err := r.ReadSlice('\n')
	if len(line) == 0 {
		return nil, ignoreEOF(err)
	}
	return bytes.TrimSpace(bytes.Clone(line)), ignoreEOF(err)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
