"""Window table functions and EMIT: parsed and lowered to plain SQL, or to a plan for the operator."""
