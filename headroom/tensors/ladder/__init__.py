"""The ladder that VAE decode and VAE encode share: NaN asks for precision, out-of-memory for space, never mixed up.

``climb`` walks the rungs, ``rungs`` says which comes next, ``attempt`` runs one on a private copy of the VAE, ``watch``
sees what the module returns, ``memory`` keeps what worked for the session. ``job`` is the seam: what decode and encode
do differently stands in ``headroom/tensors/decode`` and ``headroom/tensors/encode``, and nowhere here.
"""
