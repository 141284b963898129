"""Characters of formulae and the TeX commands that write them, as LaTeX with amsmath and amssymb has them."""

_NAMED = """
α alpha β beta γ gamma δ delta ϵ epsilon ε varepsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa ϰ varkappa λ lambda
μ mu ν nu ξ xi π pi ϖ varpi ρ rho ϱ varrho σ sigma ς varsigma τ tau υ upsilon ϕ phi φ varphi χ chi ψ psi ω omega
Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ℵ aleph ℶ beth ℏ hbar ℓ ell ℘ wp
ℜ Re ℑ Im ı imath ȷ jmath ∂ partial ∇ nabla ∞ infty ∅ emptyset ∀ forall ∃ exists ∄ nexists ¬ neg ⊤ top ⊥ bot ∠ angle
± pm ∓ mp × times ÷ div ⋅ cdot · cdot ∗ ast ⋆ star ∘ circ ∙ bullet • bullet ⊕ oplus ⊖ ominus ⊗ otimes ⊘ oslash ⊙ odot
∧ wedge ∨ vee ∩ cap ∪ cup ⊎ uplus ⊓ sqcap ⊔ sqcup ∖ setminus ≀ wr † dagger ‡ ddagger ⨿ amalg ⋊ rtimes ⋉ ltimes
≤ leq ≥ geq ⩽ leqslant ⩾ geqslant ≪ ll ≫ gg ≠ neq ≡ equiv ≈ approx ≃ simeq ∼ sim ≅ cong ≐ doteq ∝ propto ≜ triangleq
≺ prec ≻ succ ⪯ preceq ⪰ succeq ∈ in ∉ notin ∋ ni ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ⊊ subsetneq ⊏ sqsubset
⊑ sqsubseteq ⊢ vdash ⊣ dashv ⊨ models ∣ mid ∤ nmid ∥ parallel ∦ nparallel ⋈ bowtie ≲ lesssim ≳ gtrsim ≍ asymp
← leftarrow → rightarrow ↔ leftrightarrow ⇐ Leftarrow ⇒ Rightarrow ⇔ Leftrightarrow ↑ uparrow ↓ downarrow ↦ mapsto
⟵ longleftarrow ⟶ longrightarrow ⟹ Longrightarrow ⟺ iff ⟼ longmapsto ↪ hookrightarrow ↩ hookleftarrow ⇀ rightharpoonup
⇌ rightleftharpoons ↗ nearrow ↘ searrow ↙ swarrow ↖ nwarrow ⇑ Uparrow ⇓ Downarrow ↕ updownarrow ⇝ rightsquigarrow
∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋂ bigcap ⋃ bigcup ⋀ bigwedge ⋁ bigvee ⨁ bigoplus ⨂ bigotimes
⨀ bigodot ⨆ bigsqcup √ surd … ldots ⋯ cdots ⋮ vdots ⋱ ddots ′ prime ∴ therefore ∵ because □ square ■ blacksquare
◊ lozenge △ triangle ▽ triangledown ♠ spadesuit ♡ heartsuit ♢ diamondsuit ♣ clubsuit ♭ flat ♮ natural ♯ sharp
⟨ langle ⟩ rangle 〈 langle 〉 rangle ⌈ lceil ⌉ rceil ⌊ lfloor ⌋ rfloor ‖ Vert
""".split()
_WRITTEN = """
\\ \\backslash ~ \\sim ^ \\wedge − - ‐ - – - ⧵ \\setminus µ \\mu ∆ \\Delta \u2126 \\Omega
ℝ \\mathbb{R} ℂ \\mathbb{C} ℕ \\mathbb{N} ℚ \\mathbb{Q} ℤ \\mathbb{Z} ℙ \\mathbb{P} ℍ \\mathbb{H}
ℒ \\mathcal{L} ℱ \\mathcal{F} ℋ \\mathcal{H} ℐ \\mathcal{I} ℛ \\mathcal{R} ℬ \\mathcal{B} ℰ \\mathcal{E} ℳ \\mathcal{M}
ℭ \\mathfrak{C} ℌ \\mathfrak{H} ℨ \\mathfrak{Z}
""".split()
SYMBOLS = {
    **{char: f"\\{name}" for char, name in zip(_NAMED[::2], _NAMED[1::2])},
    **dict(zip(_WRITTEN[::2], _WRITTEN[1::2])),
    **{char: f"\\{char}" for char in "#$%&_{}"},
    "\xa0": "\\ ",
    "\u2009": "\\,",
    "\u2003": "\\quad ",
    **dict.fromkeys("\u2061\u2062\u2063\u2064\u200b\u200c\u200d\ufeff\ufe00", ""),  # invisible operators
}
PRIMES = {"′": 1, "'": 1, "″": 2, "‴": 3}
FUNCTIONS = frozenset(
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max "
    "min Pr sec sin sinh sup tan tanh".split()
)
# What has its limits above and below, as indices in TeX.
_WITH_LIMITS = "sum prod coprod int iint iiint oint bigcap bigcup bigwedge bigvee bigoplus bigotimes bigodot bigsqcup"
LIMITS = frozenset(
    f"\\{name}" for name in f"{_WITH_LIMITS} lim liminf limsup max min sup inf det gcd Pr arg argmax".split()
)
_OVER = """
^ hat ˆ hat ~ tilde ˜ tilde ¯ bar ‾ overline _ overline ― overline → vec ⃗ vec ˙ dot . dot ¨ ddot ˇ check ˘ breve
´ acute ` grave ⏞ overbrace ← overleftarrow ↔ overleftrightarrow
‾ overline – overline ˚ mathring ˊ acute ˋ grave ‵ grave ˉ bar
""".split()
_UNDER = "_ underline ¯ underline ‾ underline ― underline – underline ⏟ underbrace".split()
ACCENTS = {
    side: {char: f"\\{name}" for char, name in zip(marks[::2], marks[1::2])}
    for side, marks in (("over", _OVER), ("under", _UNDER))
}
# Accents as they are over more than one letter.
WIDE = {"\\hat": "\\widehat", "\\tilde": "\\widetilde", "\\vec": "\\overrightarrow", "\\bar": "\\overline"}
STRIKES = {"updiagonalstrike": "cancel", "downdiagonalstrike": "bcancel"}
# What TeX needs a command for in text.
TEXT = {
    **{char: f"\\{char}" for char in "#$%&_{}"},
    "\\": "\\textbackslash ",
    "~": "\\textasciitilde ",
    "^": "\\textasciicircum ",
}
EMS = {"em": 1.0, "ex": 0.43, "px": 1 / 16, "pt": 0.1, "mu": 1 / 18, "cm": 2.845, "mm": 0.2845, "in": 7.227}
SPACES = {"\\!": -0.167, "": 0.0, "\\,": 0.167, "\\:": 0.222, "\\;": 0.278, "\\quad ": 1.0, "\\qquad ": 2.0}
ALPHABETS = {
    "normal": "\\mathrm",
    "bold": "\\mathbf",
    "bold-italic": "\\boldsymbol",
    "double-struck": "\\mathbb",
    "script": "\\mathcal",
    "fraktur": "\\mathfrak",
    "sans-serif": "\\mathsf",
    "monospace": "\\mathtt",
}
# Brackets around a table -> the environment of matrices with them.
BRACKETS = {
    "()": "pmatrix",
    "[]": "bmatrix",
    "{}": "Bmatrix",
    "||": "vmatrix",
    "‖‖": "Vmatrix",
    "∣∣": "vmatrix",
    "∥∥": "Vmatrix",
    "{": "cases",
}
