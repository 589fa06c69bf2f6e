package seal_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/seal"
)

func newRing(t *testing.T, kids ...string) (*seal.Keyring, string) {
	t.Helper()
	var entries []string
	for _, kid := range kids {
		k, err := seal.NewKey(kid)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, k)
	}
	setting := strings.Join(entries, ",")
	r, err := seal.ParseKeyring(setting)
	if err != nil {
		t.Fatal(err)
	}
	return r, setting
}

func testLocation() seal.Location {
	return seal.Location{Table: "secrets", Row: "r1", Column: "value", Version: 1}
}

// threat: T8
func TestSeal_OpensAtItsPlaceOnly(t *testing.T) {
	r, _ := newRing(t, "k1")
	sealed, err := r.Seal(testLocation(), []byte("hunter2-canary"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Fatal("the plain text is readable")
	}
	plain, err := r.Open(testLocation(), sealed)
	if err != nil || string(plain) != "hunter2-canary" {
		t.Fatalf("open: %q, %v", plain, err)
	}
	for name, p := range map[string]seal.Location{
		"other table":   {Table: "registries", Row: "r1", Column: "value", Version: 1},
		"other row":     {Table: "secrets", Row: "r2", Column: "value", Version: 1},
		"other column":  {Table: "secrets", Row: "r1", Column: "name", Version: 1},
		"other version": {Table: "secrets", Row: "r1", Column: "value", Version: 2},
		"shifted parts": {Table: "secretsr", Row: "1", Column: "value", Version: 1},
	} {
		if _, err := r.Open(p, sealed); !errors.Is(err, seal.ErrUnopened) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Changing any single byte makes a value unreadable.
func TestSeal_EveryByteCounts(t *testing.T) {
	r, _ := newRing(t, "k1")
	sealed, err := r.Seal(testLocation(), []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		// promise: N-114
		if _, err := r.Open(testLocation(), bad); !errors.Is(err, seal.ErrUnopened) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for n := range sealed {
		if _, err := r.Open(testLocation(), sealed[:n]); !errors.Is(err, seal.ErrUnopened) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestSeal_SameValueTwiceLooksDifferent(t *testing.T) {
	r, _ := newRing(t, "k1")
	a, _ := r.Seal(testLocation(), []byte("value"))
	b, _ := r.Seal(testLocation(), []byte("value"))
	if bytes.Equal(a, b) {
		t.Error("two seals of one value are equal")
	}
}

func TestRewrap(t *testing.T) {
	old, setting := newRing(t, "k1")
	sealed, err := old.Seal(testLocation(), []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	k2, _ := seal.NewKey("k2")
	both, err := seal.ParseKeyring(k2 + "," + setting)
	if err != nil {
		t.Fatal(err)
	}
	again, changed, err := both.Rewrap(testLocation(), sealed)
	if err != nil || !changed {
		t.Fatalf("rewrap: %v %v", changed, err)
	}
	if kid, _ := seal.KidOf(again); kid != "k2" {
		t.Errorf("sealed under %q", kid)
	}
	if plain, err := both.Open(testLocation(), again); err != nil || string(plain) != "value" {
		t.Errorf("open: %q %v", plain, err)
	}
	if _, changed, err := both.Rewrap(testLocation(), again); changed || err != nil {
		t.Errorf("second rewrap: %v %v", changed, err)
	}
	// promise: N-120
	if _, err := old.Open(testLocation(), again); !errors.Is(err, seal.ErrUnopened) {
		t.Errorf("the old ring opened it: %v", err)
	}
}

// threat: T46
func TestParseKeyring_Refuses(t *testing.T) {
	good, _ := seal.NewKey("k1")
	b64 := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	counting := make([]byte, 32)
	for i := range counting {
		counting[i] = byte(i)
	}
	for name, setting := range map[string]string{
		"missing":        "",
		"blank":          "  ",
		"no name":        b64(bytes.Repeat([]byte{7}, 32)),
		"empty name":     ":" + strings.TrimPrefix(good, "k1:"),
		"not base64":     "k1:!!!!",
		"short":          "k1:" + b64([]byte("0123456789abcdef")),
		"long":           "k1:" + b64(make([]byte, 33)),
		"all zero":       "k1:" + b64(make([]byte, 32)),
		"one byte":       "k1:" + b64(bytes.Repeat([]byte{0xaa}, 32)),
		"repeated words": "k1:" + b64(bytes.Repeat([]byte("changeme"), 4)),
		"counting":       "k1:" + b64(counting),
		"the sample":     "k1:c2FtcGxlLWtleS1vZi10aGUtZG9jdW1lbnRhdGlvbiE=",
		"sample, raw":    "k1:" + b64([]byte("sample-key-of-the-documentation!")),
		"name twice":     good + "," + good,
		"bad second":     good + ",k2:" + b64(make([]byte, 32)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := seal.ParseKeyring(setting)
			// promise: N-119
			if err == nil {
				t.Fatal("accepted")
			}
			if (name == "name twice" || name == "bad second") &&
				!strings.HasPrefix(err.Error(), "master key 2: ") {
				t.Errorf("which key is wrong? %v", err)
			}
			if i := strings.LastIndex(setting, ":"); i > 0 && len(setting) > i+9 &&
				strings.Contains(err.Error(), setting[i+1:]) {
				t.Errorf("the error repeats the key: %v", err)
			}
		})
	}
}

// threat: T48
func TestKeyring_NeverPrints(t *testing.T) {
	r, setting := newRing(t, "k1")
	secret := strings.TrimPrefix(setting, "k1:")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, r); strings.Contains(s, secret) || s != "[keyring]" {
			t.Errorf("%s prints %q", verb, s)
		}
	}
	local, err := seal.ParseLocalKeys(setting)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, local); s != "[keys]" {
			t.Errorf("%s prints %q", verb, s)
		}
	}
	if local.Source() != "local" {
		t.Errorf("local keys are kept in %q", local.Source())
	}
}

func FuzzOpen(f *testing.F) {
	k, _ := seal.NewKey("k1")
	r, err := seal.ParseKeyring(k)
	if err != nil {
		f.Fatal(err)
	}
	sealed, _ := r.Seal(testLocation(), []byte("value"))
	f.Add(sealed)
	f.Add([]byte{1, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		plain, err := r.Open(testLocation(), b)
		if err == nil && (!bytes.Equal(b, sealed) || string(plain) != "value") {
			t.Errorf("opened %x", b)
		}
	})
}
