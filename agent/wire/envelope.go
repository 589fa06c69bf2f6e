package wire

import (
	"encoding/json"
	"fmt"
)

// envelope is the frame of every message: {"type": …, "payload": …}.
type envelope struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// EncodeCommand frames a command.
func EncodeCommand(c Command) ([]byte, error) { return encode(c.command(), c) }

// EncodeReport frames a report.
func EncodeReport(r Report) ([]byte, error) { return encode(r.report(), r) }

// DecodeCommand reads one framed command. An unknown type is an error: the two
// ends always run the same build.
func DecodeCommand(data []byte) (Command, error) {
	e, err := decode(data)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case Goals{}.command():
		return checkedGoals(e)
	case Ack{}.command():
		return payload[Ack](e)
	case Secrets{}.command():
		return payload[Secrets](e)
	case Plugins{}.command():
		return payload[Plugins](e)
	case Registries{}.command():
		return payload[Registries](e)
	case Keep{}.command():
		return payload[Keep](e)
	case RefuseToken{}.command():
		return payload[RefuseToken](e)
	case Stored{}.command():
		return payload[Stored](e)
	case Witness{}.command():
		return payload[Witness](e)
	}
	return nil, fmt.Errorf("unknown command type %q", e.Type)
}

// DecodeReport reads one framed report, like DecodeCommand.
func DecodeReport(data []byte) (Report, error) {
	e, err := decode(data)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case Welcome{}.report():
		return payload[Welcome](e)
	case Event{}.report():
		return payload[Event](e)
	case SecretsWanted{}.report():
		return payload[SecretsWanted](e)
	case RegistriesWanted{}.report():
		return payload[RegistriesWanted](e)
	case Progress{}.report():
		return payload[Progress](e)
	case Vitals{}.report():
		return payload[Vitals](e)
	case TokenRefused{}.report():
		return payload[TokenRefused](e)
	case LogBatch{}.report():
		return payload[LogBatch](e)
	case InventoryChanged{}.report():
		return payload[InventoryChanged](e)
	case Samples{}.report():
		return payload[Samples](e)
	}
	return nil, fmt.Errorf("unknown report type %q", e.Type)
}

func encode(kind string, message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return json.Marshal(envelope{Type: kind, Payload: body})
}

func decode(data []byte) (envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("decode message: %w", err)
	}
	return e, nil
}

func payload[T any](e envelope) (T, error) {
	var m T
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		return m, fmt.Errorf("decode %s: %w", e.Type, err)
	}
	return m, nil
}
