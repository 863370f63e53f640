"""How long a test waits for what must happen: only something that hangs takes so long, not a busy machine."""

PATIENT_S = 300.0
