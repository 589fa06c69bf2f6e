package wire

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// Names of deployments and services are UUIDs or DNS labels.
func TestIsName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a": true, "az-09": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "A": false, "a/b": false, "a.b": false} {
		if isName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// A key shows itself nowhere: not in text, JSON or a log.
func TestKey_ShowsItselfNowhere(t *testing.T) {
	t.Parallel()
	key := NewToken(SPKI{1}).Key()
	asJSON, err := json.Marshal(map[string]any{"key": key})
	if err != nil || string(asJSON) != `{"key":"[secret]"}` {
		t.Errorf("as JSON it is %s, %v", asJSON, err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key)
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%v %+v %#v %x", key, key, key, key),
		log.String()} {
		if !strings.Contains(text, "[secret]") || strings.Contains(text, fmt.Sprintf("%x", key.Bytes())) {
			t.Errorf("it is shown as %q", text)
		}
	}
}

// Twenty lines a minute, and how many were left out.
func TestRateLimitedLog_SaysHowManyItLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		q := newRateLimitedLog(slog.New(slog.NewTextHandler(&log, nil)))
		for range linesPerMinute + 3 {
			q.warn("x")
		}
		if n := strings.Count(log.String(), "\n"); n != linesPerMinute ||
			strings.Contains(log.String(), "suppressed") {
			t.Errorf("%d lines in a minute:\n%s", n, log.String())
		}
		log.Reset()
		time.Sleep(time.Minute)
		if q.warn("x"); log.Len() > 0 {
			t.Errorf("the minute is not over: %s", log.String())
		}
		time.Sleep(time.Nanosecond)
		q.warn("x")
		q.warn("y")
		if text := log.String(); strings.Count(text, "dropped=4") != 1 ||
			strings.Count(text, "\n") != 2 {
			t.Errorf("afterwards it says\n%s", text)
		}
	})
}

// A far end's reason is cut, so that no peer fills a log.
func TestRefusal_IsCut(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 200: 200, 201: 200, 5000: 200} {
		var refused *RefusedError
		err := (refusal{Code: CodeRefused, Reason: strings.Repeat("r", n)}).asError()
		if !errors.As(err, &refused) || len(refused.Reason) != want || refused.Code != CodeRefused {
			t.Errorf("%d bytes become %v", n, err)
		}
	}
}

// What was examined of an untrusted certificate is a part of its error, and nothing where nothing
// was.
func TestUntrustedError_Unwraps(t *testing.T) {
	t.Parallel()
	why := errors.New("expired")
	for _, e := range []*UntrustedError{{}, {Examined: why}} {
		if all := e.Unwrap(); all[0] != ErrUntrusted || slices.Contains(all, nil) ||
			errors.Is(e, why) != (e.Examined != nil) {
			t.Errorf("%+v unwraps to %v", e, all)
		}
	}
}

// Both kinds of keys sign an enrolment, each in its own way, and for one token.
func TestSignEnrolment_WithEitherKey(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	message := []byte(enrolmentContext + "token")
	for _, key := range []crypto.Signer{private, curve} {
		signature, err := (&Identity{key: key}).SignEnrolment("token")
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(message)
		holds := ed25519.Verify(public, message, signature)
		if key == crypto.Signer(curve) {
			holds = ecdsa.VerifyASN1(&curve.PublicKey, sum[:], signature)
		}
		if !holds {
			t.Errorf("the signature of %T does not hold", key)
		}
	}
}

// What was read before the WebSocket began comes first, in pieces of any size.
func TestPrefixedConn_ReadsWhatCameEarly(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 100} {
		near, far := net.Pipe()
		c := &prefixedConn{Conn: near, early: []byte("early")}
		go func() {
			_, _ = io.WriteString(far, " and late")
			_ = far.Close()
		}()
		var got []byte
		var err error
		for piece := make([]byte, size); err == nil; {
			var n int
			n, err = c.Read(piece)
			got = append(got, piece[:n]...)
		}
		if string(got) != "early and late" || err != io.EOF {
			t.Errorf("in pieces of %d: %q, %v", size, got, err)
		}
		_ = near.Close()
	}
	var body detachedBody
	if n, err := body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("a body that was taken over reads %d, %v", n, err)
	}
}

// Answers are read as they were written, and nonsense is an error.
func TestDecodeResponses(t *testing.T) {
	t.Parallel()
	i, err := DecodeInventoryResponse(strings.NewReader(`{"replaceable":true,"remedy":"r"}`))
	if err != nil || !i.Replaceable || i.Remedy != "r" {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := DecodeInventoryResponse(strings.NewReader("x")); err == nil {
		t.Error("nonsense is an inventory")
	}
	if _, err := DecodeDescribeResponse(strings.NewReader("x")); err == nil {
		t.Error("nonsense is a description")
	}
	if _, err := DecodeDescribeResponse(strings.NewReader("{}")); err != nil {
		t.Errorf("an empty description: %v", err)
	}
	if _, err := DecodeStepChecks(strings.NewReader("x")); err == nil {
		t.Error("nonsense is a list of checks")
	}
}

// Both ends know the codes by their numbers, whatever their releases; those below 4000 are the
// WebSocket's own.
func TestCodes_StayAsTheyAre(t *testing.T) {
	t.Parallel()
	for code, want := range map[Code]int{CodeGone: int(websocket.StatusGoingAway),
		CodeProtocol: int(websocket.StatusProtocolError),
		CodeTooBig:   int(websocket.StatusMessageTooBig), CodeRefused: 4001, CodeStaleEpoch: 4002,
		CodeIncompatible: 4003, CodeOtherNode: 4004, CodeReplaced: 4005, CodeRevoked: 4006,
		CodeSilent: 4007, CodeSlow: 4008, CodeUntrusted: 4009, CodeUnavailable: 4010} {
		if int(code) != want {
			t.Errorf("%d was %d before", code, want)
		}
	}
}
