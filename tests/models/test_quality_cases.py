"""Named kinds of documents that the quality model that ships was wrong about, or might be. None of these texts is among
what it was trained on; they are written for this test, or in the public domain."""

import pyarrow as pa
import pytest

from corpusmill.models.quality import Scorer

QUESTION = """How do I keep the order of a dictionary when I write it to JSON and read it back?

I have a dictionary with about two hundred keys, and I write it to a file like this:

    import json
    with open("settings.json", "w") as file:
        json.dump(settings, file, indent=2)

When I read the file again with json.load, the keys seem to be in another order than the one in which I put them in. I
tried sort_keys=True, but then they are sorted by name, and that is not what I want either. I am using Python 2.7 on an
old server that I cannot upgrade.

Answer: Before Python 3.7 a plain dict does not remember the order in which keys were added. The json module writes what
it is given, so the order is lost when you build the dictionary, and once more when the file is read. You can use an
OrderedDict for both:

    from collections import OrderedDict
    settings = json.load(file, object_pairs_hook=OrderedDict)

The argument object_pairs_hook is called with the list of pairs of each object, in the order of the file. If you can move
to a newer version of Python, you do not need any of this, because dictionaries keep their order there.
"""
OCR = """tlie liouse ofC ommons a8 it tben stocd , wa« in tbe samc conditiou , und tlie Speakcr liaving tnken tbe cbair,
HIST. OF ENOLAND. 213 ^ ' ■
Mr. \\Valpole rofe to m ove tbat an hnmble addrcss bc prcsented to hi8 Majcfty, tbat be wonld be gracioufly plcased to
giv e diredlions for laying bcfore this Houfe , co pies of ali thc lctters wbicb liad pafled bctween tbc Secretary
o f Stute aud tbe Govcrnor ol Gibraltar , fince tbe firft of Jnly laft . . 'l'he motion was fecondcd . It was
oppofed bv Sir W . W yndbam, wlio faid , tbat lie conld not fee wbat nse it wonld bc of to tbe Hon fe, 4* |
nnlefs gentlcmen werc prcvioufly in formed wbat tbe contcnts of tbem werc likcly to be ; — i ~ ^ • tbc 1
queftion being pnt , it was carricd in tbe ncgative , witbout a divifion. Adjonrncd to Mondav fe'nnight . l66 VOL. n
"""
LIST = "\n".join(
    f"{name} ({number})"
    for number, name in enumerate(
        "Aberdeen Accommodation Activities Airport Transfers Apartments Attractions Banff Beaches Boat Hire Camping Castles "
        "Car Rental Cottages Cruises Cycling Distilleries Dundee Events Ferries Fishing Food Golf Guest Houses Hiking "
        "Hostels Hotels Inverness Islands Kayaking Lochs Maps Museums Offers Parks Perth Pubs Railways Restaurants Skiing "
        "Spas Tours Walking Weather Weddings Whisky Wildlife".split(),
        start=3,
    )
)
POEM = """I wandered lonely as a cloud
That floats on high o'er vales and hills,
When all at once I saw a crowd,
A host, of golden daffodils;
Beside the lake, beneath the trees,
Fluttering and dancing in the breeze.

Continuous as the stars that shine
And twinkle on the milky way,
They stretched in never-ending line
Along the margin of a bay:
Ten thousand saw I at a glance,
Tossing their heads in sprightly dance.

The waves beside them danced; but they
Out-did the sparkling waves in glee:
A poet could not but be gay,
In such a jocund company:
I gazed, and gazed, but little thought
What wealth the show to me had brought:

For oft, when on my couch I lie
In vacant or in pensive mood,
They flash upon that inward eye
Which is the bliss of solitude;
And then my heart with pleasure fills,
And dances with the daffodils.
"""
RECIPE = """Onion soup as my grandmother made it

For four people you need a kilo of yellow onions, 50 g of butter, a spoonful of flour, a glass of dry white wine, a litre
and a half of beef stock, a few sprigs of thyme, stale bread, and a good piece of hard cheese.

Peel the onions and cut them into thin rings. Melt the butter in a heavy pot and add the onions with a pinch of salt.
Now you need patience: let them cook over a low heat for at least forty minutes, and stir them now and then, until they
are soft, brown and sweet. If they catch at the bottom, add a spoonful of water and scrape it off; that is where the
taste comes from.

Dust them with the flour, stir for a minute, and pour in the wine. When it has nearly boiled away, add the stock and the
thyme, and let the soup simmer for another half an hour. Taste it before you add more salt, because the cheese is salty,
too. Toast the bread, lay a slice on each bowl, cover it with grated cheese, and put the bowls under a hot grill until
the cheese bubbles.
"""
THREAD = """My bike pulls to the left when I let go of the handlebars. It did not do this before I changed the front tyre last week.
I have checked that the wheel sits straight in the fork, and the brakes do not rub. Has anybody seen this before?

Is the tyre seated evenly all the way around? Spin the wheel and watch the line that is moulded into the side of the tyre.
If it wobbles, let the air out, work the bead with your thumbs and inflate it again slowly. A tyre that sits too low at one
place feels exactly like what you describe.

That was it. The bead had not come up on one side near the valve. I used a little soapy water, pumped it up until it
popped into place, and then let it down to the normal pressure. It runs straight again. Thank you, I was about to take
the whole front end apart.

Good to hear. If it comes back, look at the headset as well, because a bearing that is too tight makes the bike wander, and
people often blame the tyre for it.
"""
GOOD = {"a programming question": QUESTION, "a poem": POEM, "a recipe": RECIPE, "a forum thread": THREAD}
BAD = {"an OCR ruin": OCR, "a list": LIST}


def score(text: str) -> float:
    return float(Scorer().scores(pa.array([text], pa.large_string()))[0].as_py())


@pytest.mark.parametrize("kind", GOOD)
def test_sound_text_of_any_kind_is_good(kind):
    assert score(GOOD[kind]) >= 0.5


@pytest.mark.parametrize("kind", BAD)
def test_ruins_and_lists_are_bad(kind):
    assert score(BAD[kind]) < 0.25
