package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrDamaged means that a file does not hold what was written.
var ErrDamaged = errors.New("the file is damaged")

// A checked document is a JSON object whose last member is the checksum of all bytes before that
// member. Releases without checksums read it too: to them it is one more unknown member.
const (
	sumBegin  = `"sum":"`
	sumEnd    = `"}`
	sumLength = len(sumBegin) + 8 + len(sumEnd)
)

// Checksum is the CRC-32C, which finds every change of up to five bits in a file of our sizes.
func Checksum(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// MarshalChecked encodes a value, which must be a JSON object, with a checksum.
func MarshalChecked(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) < 2 || data[0] != '{' {
		return nil, fmt.Errorf("a %T is no JSON object", v)
	}
	data = data[:len(data)-1]
	if len(data) > 1 {
		data = append(data, ',')
	}
	return fmt.Appendf(data, "%s%08x%s", sumBegin, Checksum(data), sumEnd), nil
}

// UnmarshalChecked decodes what MarshalChecked wrote. Without a checksum, an older release wrote
// the file: then it may have no member that v does not know, because a release that knows more
// members writes checksums.
func UnmarshalChecked(data []byte, v any) error {
	body, sum, found := cutSum(data)
	if found && fmt.Sprintf("%08x", Checksum(body)) != sum {
		return fmt.Errorf("%w: its checksum does not match its content", ErrDamaged)
	}
	if found {
		body = append(bytes.TrimSuffix(bytes.Clone(body), []byte(",")), '}')
		if err := json.Unmarshal(body, v); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("something follows its end")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// cutSum splits a document before its checksum.
func cutSum(data []byte) (body []byte, sum string, found bool) {
	at := len(data) - sumLength
	if at < 1 {
		return nil, "", false
	}
	tail, begins := bytes.CutPrefix(data[at:], []byte(sumBegin))
	digits, ends := bytes.CutSuffix(tail, []byte(sumEnd))
	return data[:at], string(digits), begins && ends
}
