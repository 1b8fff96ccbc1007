"""The decode ladder: NaN asks for precision, out-of-memory asks for space, and the two are never mixed up.

``ladder`` walks the rungs, ``attempt`` runs one of them on a private copy of the VAE, ``watch`` sees what the decoder
returns, ``kinds`` knows what sort of VAE it is, ``memory`` keeps what worked for the session.
"""
