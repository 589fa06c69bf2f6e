package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A byte that moves from one field to the next makes another proof.
func TestProof_FieldsDoNotRunIntoEachOther(t *testing.T) {
	var k Key
	b := binding{}
	mac := func(node, kid string) []byte {
		return b.proofMAC(k, "server", hello{NodeID: node, Kid: kid}, answer{})
	}
	if bytes.Equal(mac("node1", "k1"), mac("node", "1k1")) {
		t.Error("two exchanges have one proof")
	}
	if !bytes.Equal(mac("node1", "k1"), mac("node1", "k1")) {
		t.Error("one exchange has two proofs")
	}
}

func TestDecodeUpgrade_WantsAnImage(t *testing.T) {
	for image, want := range map[string]bool{
		"": false, "r/agent:2": true, strings.Repeat("x", 512): true, strings.Repeat("x", 513): false,
	} {
		u, err := DecodeUpgrade(strings.NewReader(`{"image":"` + image + `"}`))
		if (err == nil) != want || err == nil && u.Image != image {
			t.Errorf("an image of %d letters: %v", len(image), err)
		}
	}
	if _, err := DecodeUpgrade(strings.NewReader(`{"image":"x","more":1}`)); err == nil {
		t.Error("an unknown field was read over")
	}
}

func TestTunnelAccess_IsEmptyOrComplete(t *testing.T) {
	id, key := make([]byte, len(SPKI{})), make([]byte, keyLen)
	for name, c := range map[string]struct {
		access TunnelAccess
		valid  bool
	}{
		"empty":         {TunnelAccess{}, true},
		"complete":      {TunnelAccess{Client: id, Key: key}, true},
		"a key alone":   {TunnelAccess{Key: key}, false},
		"no key":        {TunnelAccess{Client: id}, false},
		"short key":     {TunnelAccess{Client: id, Key: key[1:]}, false},
		"short client":  {TunnelAccess{Client: id[1:], Key: key}, false},
		"client as key": {TunnelAccess{Client: append(id, 0), Key: key}, false},
	} {
		if got := c.access.IsValid(); got != c.valid {
			t.Errorf("%s: valid is %v", name, got)
		}
	}
}

func TestSPKI_IsReadable(t *testing.T) {
	if got := (SPKI{0: 0xab, 31: 0x01}).String(); got != "ab"+strings.Repeat("0", 60)+"01" {
		t.Errorf("it reads %s", got)
	}
}

// Frames have the shortest form that holds their length, as RFC 6455 requires, and are masked.
func TestEncodeMaskedFrame_PicksTheForm(t *testing.T) {
	for _, n := range []int{0, 1, maxControl, maxControl + 1, 1<<16 - 1, 1 << 16} {
		payload := bytes.Repeat([]byte("x"), n)
		f := encodeMaskedFrame(2, payload)
		if f[0] != 0x82 || f[1]&0x80 == 0 {
			t.Fatalf("%d bytes begin with %x", n, f[:2])
		}
		length, rest := int(f[1]&0x7f), f[2:]
		switch {
		case n > 1<<16-1:
			if length != 127 {
				t.Errorf("%d bytes have the form %d", n, length)
			}
			length, rest = int(binary.BigEndian.Uint64(rest)), rest[8:]
		case n > 125:
			if length != 126 {
				t.Errorf("%d bytes have the form %d", n, length)
			}
			length, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
		}
		if length != n || len(rest) != n+4 {
			t.Fatalf("%d bytes are announced as %d, and %d follow", n, length, len(rest)-4)
		}
		for i := range payload {
			if rest[4+i]^rest[i%4] != 'x' {
				t.Fatalf("byte %d of %d is not masked", i, n)
			}
		}
	}
}

// A refusal for another reason, such as a wrong token, is none for the release.
func TestIsIncompatible_LooksAtTheCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"another error":   {errors.New("broken"), false},
		"another refusal": {&RefusedError{Code: CodeRefused}, false},
		"the release":     {&RefusedError{Code: CodeIncompatible}, true},
		"wrapped":         {fmt.Errorf("dial: %w", &RefusedError{Code: CodeIncompatible}), true},
	} {
		if got := isIncompatible(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
