package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// envelope is the frame of every message: {"type": …, "payload": …}.
type envelope struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// EncodeCommand frames a command.
func EncodeCommand(c Command) ([]byte, error) { return encodeEnvelope(c.command(), c) }

// EncodeReport frames a report.
func EncodeReport(r Report) ([]byte, error) { return encodeEnvelope(r.report(), r) }

// DecodeCommand reads one framed command. An unknown type is an error: the two
// ends always run the same build.
func DecodeCommand(data []byte) (Command, error) {
	e, err := decodeEnvelope(data)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case Goals{}.command():
		return decodeGoals(e)
	case Ack{}.command():
		return decodePayload[Ack](e)
	case Secrets{}.command():
		return decodePayload[Secrets](e)
	case Plugins{}.command():
		return decodePayload[Plugins](e)
	case Registries{}.command():
		return decodePayload[Registries](e)
	case Keep{}.command():
		return decodePayload[Keep](e)
	case RefuseToken{}.command():
		return decodePayload[RefuseToken](e)
	case Stored{}.command():
		return decodePayload[Stored](e)
	case Witness{}.command():
		return decodePayload[Witness](e)
	case TunnelAccess{}.command():
		return decodePayload[TunnelAccess](e)
	case Offer{}.command():
		return decodePayload[Offer](e)
	case Watch{}.command():
		return decodePayload[Watch](e)
	}
	return nil, fmt.Errorf("unknown command type %q", e.Type)
}

// DecodeReport reads one framed report, like DecodeCommand. NUL characters are replaced: a
// container may print them, and no database takes them. A report that cannot be stored
// would be sent again for ever, and everything behind it would wait.
func DecodeReport(data []byte) (Report, error) {
	e, err := decodeEnvelope(replaceNUL(data))
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case Welcome{}.report():
		return decodePayload[Welcome](e)
	case Event{}.report():
		return decodePayload[Event](e)
	case SecretsWanted{}.report():
		return decodePayload[SecretsWanted](e)
	case RegistriesWanted{}.report():
		return decodePayload[RegistriesWanted](e)
	case Progress{}.report():
		return decodePayload[Progress](e)
	case Vitals{}.report():
		return decodePayload[Vitals](e)
	case TokenRefused{}.report():
		return decodePayload[TokenRefused](e)
	case LogBatch{}.report():
		return decodePayload[LogBatch](e)
	case InventoryChanged{}.report():
		return decodePayload[InventoryChanged](e)
	case Samples{}.report():
		return decodePayload[Samples](e)
	case OfferAnswer{}.report():
		return decodePayload[OfferAnswer](e)
	}
	return nil, fmt.Errorf("unknown report type %q", e.Type)
}

func encodeEnvelope(kind string, message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return json.Marshal(envelope{Type: kind, Payload: body})
}

func decodeEnvelope(data []byte) (envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("decode message: %w", err)
	}
	return e, nil
}

func decodePayload[T any](e envelope) (T, error) {
	var m T
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		return m, fmt.Errorf("decode %s: %w", e.Type, err)
	}
	return m, nil
}

// replaceNUL puts U+FFFD in place of each NUL in the strings of a JSON document. JSON can
// hold NUL only as an escape; a backslash before the escape makes it ordinary text.
func replaceNUL(data []byte) []byte {
	escape := []byte(`\u0000`)
	if !bytes.Contains(data, escape) {
		return data
	}
	out := bytes.Clone(data)
	for i := 0; i+len(escape) <= len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(out[i:], escape) {
			copy(out[i:], `\ufffd`)
		}
		i++ // what is escaped begins no escape
	}
	return out
}
