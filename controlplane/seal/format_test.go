package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane/seal"
)

// stub wraps a data key in as many bytes as it is told, under a name of its own.
type stub struct {
	kid   string
	size  int
	fails error
	more  []string // names that it learns of when it refreshes
	asked int
}

func (s *stub) Source() string   { return "stub" }
func (s *stub) KeyIDs() []string { return []string{s.kid} }

func (s *stub) Wrap(_ context.Context, dek, _ []byte) (string, []byte, error) {
	return s.kid, append(bytes.Clone(dek), make([]byte, s.size-len(dek))...), s.fails
}

func (s *stub) Unwrap(_ context.Context, _ string, wrapped, _ []byte) ([]byte, error) {
	if s.fails != nil {
		return nil, s.fails
	}
	return bytes.Clone(wrapped[:32]), nil
}

func (s *stub) Refresh(context.Context) error {
	s.asked++
	if len(s.more) > 0 {
		s.kid = s.more[0]
	}
	return nil
}

// Format 1 is for 60 bytes and nothing else, format 2 holds up to 4096; longer names and keys
// are refused before they are stored.
func TestSeal_PicksTheFormatBySize(t *testing.T) {
	for _, c := range []struct {
		kid    string
		size   int
		format byte
	}{
		{"k1", 60, 1}, {"k1", 59, 2}, {"k1", 61, 2}, {"k1", 4096, 2}, {"k1", 4097, 0},
		{strings.Repeat("k", 20), 60, 1}, {strings.Repeat("k", 21), 60, 0},
		{"azAZ09", 60, 1}, {"k", 60, 1}, {"a`", 60, 0}, {"a{", 60, 0}, {"a@", 60, 0}, {"a[", 60, 0},
		{"a/", 60, 0}, {"a:", 60, 0},
	} {
		r, err := seal.NewKeyring(&stub{kid: c.kid, size: c.size})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := r.Seal(testLocation(), []byte("value"))
		if c.format == 0 {
			if err == nil {
				t.Errorf("%s with %d bytes was sealed", c.kid, c.size)
			}
			continue
		}
		if err != nil || sealed[0] != c.format {
			t.Errorf("%s with %d bytes: %v", c.kid, c.size, err)
			continue
		}
		if plain, err := r.Open(testLocation(), sealed); err != nil || string(plain) != "value" {
			t.Errorf("%s with %d bytes opens as %q: %v", c.kid, c.size, plain, err)
		}
		for n := range len(sealed) - 5 {
			if _, err := r.Open(testLocation(), sealed[:n]); !errors.Is(err, seal.ErrUnopened) {
				t.Fatalf("%s with %d bytes, cut to %d: %v", c.kid, c.size, n, err)
			}
		}
	}
}

// An empty value is sealed as well: nothing but the overhead follows its key.
func TestSeal_EmptyValueOpens(t *testing.T) {
	r, _ := newRing(t, "k1")
	sealed, err := r.Seal(testLocation(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := r.Open(testLocation(), sealed); err != nil || len(plain) != 0 {
		t.Errorf("opened %q: %v", plain, err)
	}
	if kid, err := seal.KidOf(sealed[:1]); !errors.Is(err, seal.ErrUnopened) {
		t.Errorf("one byte is sealed under %q: %v", kid, err)
	}
}

// A service that does not work makes a value wait, and the error says which value, which key and
// where; what is wrong is not waited for.
func TestKeyring_SaysWhatWaits(t *testing.T) {
	s := &stub{kid: "k1", size: 60}
	r, err := seal.NewKeyring(s)
	if err != nil {
		t.Fatal(err)
	}
	p := testLocation()
	sealed, err := r.Seal(p, []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fails := range []error{seal.ErrUnavailable, seal.ErrRefused, seal.ErrUnopened} {
		s.fails = fails
		_, openErr := r.Open(p, sealed)
		_, sealErr := r.Seal(p, []byte("value"))
		for _, err := range []error{openErr, sealErr} {
			var waits *seal.WaitingError
			is := errors.As(err, &waits)
			if !errors.Is(err, fails) || is != (fails != seal.ErrUnopened) {
				t.Errorf("%v became %v", fails, err)
			}
			if is && (waits.Key != "k1" || waits.Source != "stub" ||
				!strings.HasPrefix(err.Error(), "secrets r1 waits for its sealing key k1 (stub): ")) {
				t.Errorf("it says %v", err)
			}
		}
	}
	p.Label = "secret DB_PASSWORD"
	s.fails = seal.ErrRefused
	if _, err := r.Open(p, sealed); err == nil || !strings.HasPrefix(err.Error(), p.Label+" waits") {
		t.Errorf("it says %v", err)
	}
}

// A value under an unknown key makes the ring look for new keys, at most every five seconds.
func TestKeyring_LooksForNewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{kid: "k1", size: 60}
		r, err := seal.NewKeyring(s)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere, err := seal.NewKeyring(&stub{kid: "k2", size: 60})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := elsewhere.Seal(testLocation(), []byte("value"))
		if err != nil {
			t.Fatal(err)
		}
		open := func(want error, asked int) {
			t.Helper()
			if _, err := r.Open(testLocation(), sealed); !errors.Is(err, want) || s.asked != asked {
				t.Errorf("%v after %d refreshes, want %v after %d", err, s.asked, want, asked)
			}
		}
		open(seal.ErrUnopened, 1)
		s.more = []string{"k2"}
		time.Sleep(5*time.Second - time.Millisecond)
		open(seal.ErrUnopened, 1)
		time.Sleep(time.Millisecond)
		open(nil, 2)
		if r.SourceOf("k2") != "stub" || r.SourceOf("k9") != "" {
			t.Error("the ring says another source")
		}
	})
}

// Keys of two sources may not share a name; names are listed newest first.
func TestNewKeyring_NamesAreUnique(t *testing.T) {
	if _, err := seal.NewKeyring(); err == nil {
		t.Error("a ring without keys was made")
	}
	if _, err := seal.NewKeyring(&stub{kid: "k1"}, &stub{kid: "k1"}); err == nil ||
		!strings.Contains(err.Error(), "k1 is used by a key of stub") {
		t.Errorf("two keys have one name: %v", err)
	}
	r, err := seal.NewKeyring(&stub{kid: "k2"}, &stub{kid: "k1"})
	if err != nil || strings.Join(r.KeyIDs(), " ") != "k2 k1" || r.PrimaryKeyID() != "k2" {
		t.Errorf("the names are %v: %v", r.KeyIDs(), err)
	}
	both := []*stub{{kid: "k2"}, {kid: "k1"}}
	if r, err = seal.NewKeyring(both[0], both[1]); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil || both[0].asked+both[1].asked != 2 {
		t.Errorf("%d of two sources looked for new keys: %v", both[0].asked+both[1].asked, err)
	}
	for kid, good := range map[string]bool{"k1": true, "": false, "k-1": false,
		strings.Repeat("k", 20): true, strings.Repeat("k", 21): false} {
		if _, err := seal.NewKey(kid); (err == nil) != good {
			t.Errorf("a key named %q: %v", kid, err)
		}
	}
}

// Sixteen different bytes in no pattern are a key, fifteen are not. Both alphabets of base64
// are read, with and without padding.
func TestParseKeyring_TakesRealKeys(t *testing.T) {
	mixed := func(different int) []byte {
		b := make([]byte, 32)
		for i := range b {
			b[i] = byte(i%different*37) ^ 0x5a
		}
		return b
	}
	for n := 2; n <= 32; n++ {
		_, err := seal.ParseKeyring("k1:" + base64.StdEncoding.EncodeToString(mixed(n)))
		if (err == nil) != (n >= 16) {
			t.Errorf("%d different bytes: %v", n, err)
		}
	}
	tricky := bytes.Repeat([]byte{0xfb, 0xff, 0xfe, 0x3e}, 8)
	for i := range tricky {
		if i%2 == 1 {
			tricky[i] = byte(i * 5)
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding,
		base64.URLEncoding, base64.RawURLEncoding} {
		if _, err := seal.ParseKeyring("k1:" + encoding.EncodeToString(tricky)); err != nil {
			t.Errorf("an alphabet is not read: %v", err)
		}
	}
}
