INSERT INTO audit_checkpoints VALUES (0, decode(repeat('00', 32), 'hex'), now(),
    decode(repeat('04', 32), 'hex'));
