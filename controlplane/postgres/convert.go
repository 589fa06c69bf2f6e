package postgres

import (
	"encoding/json"
	"fmt"
	"time"
)

// nullIfEmpty turns an id into a nullable column: the empty one is NULL.
func nullIfEmpty[T ~string](id T) *string {
	if id == "" {
		return nil
	}
	s := string(id)
	return &s
}

// emptyIfNull turns a nullable column into an id: NULL is the empty one.
func emptyIfNull[T ~string](s *string) T {
	if s == nil {
		return ""
	}
	return T(*s)
}

// nullIfZero turns a time into a nullable column: the zero time is NULL.
func nullIfZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// zeroIfNull converts a nullable column to a time: NULL is the zero time.
func zeroIfNull(t *time.Time) (at time.Time) {
	if t != nil {
		at = *t
	}
	return at
}

// fromStrings converts a query's strings to typed ids or keys.
func fromStrings[T ~string](all []string) (these []T) {
	for _, s := range all {
		these = append(these, T(s))
	}
	return these
}

// toStrings turns typed strings into those a query takes.
func toStrings[T ~string](typed []T) []string {
	all := make([]string, len(typed))
	for i, s := range typed {
		all[i] = string(s)
	}
	return all
}

// encodeJSON turns a value into jsonb.
func encodeJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return b, nil
}

// decodeJSON reads jsonb; NULL leaves the value alone.
func decodeJSON(b []byte, into any) error {
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}
