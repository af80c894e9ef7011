${'{}-{}'.format(1, 'a')}
${'{1}{0}{1}'.format('a', 'b')}
${'{x}'.format(x=port)}
${'{:5}|{:<5}|{:>5}|{:^5}|'.format(1, 2, 'a', 'b')}
${'{:05d} {:+d} {:x} {:#x} {:b} {:o}'.format(42, 42, 255, 255, 5, 8)}
${'{:,} {:_}'.format(1234567, 1234567)}
${'{:.2f} {:8.3f} {:e} {:g} {:%} {:.1%}'.format(pi, pi, pi, pi, ratio, ratio)}
${'{:*^9}'.format('mid')}
${'{!r} {!s}'.format('a', 'a')}
${'{{}} {{{}}}'.format(1)}
${'{0[ip]}:{0[port]}'.format(hosts[0])}
${'{0[1]}'.format(names)}
${'{0.cc_set.attrib[SetName]}'.format(this)}
${'{:{w}.{p}f}'.format(pi, w=8, p=2)}
${'{:.3}'.format('abcdef')}
${'{:>{}}'.format('a', 4)}
${'{}'.format([1, 'x', None])}
${'{:d}'.format(True)}
${'{}'.format(True)}
${'{:=+6d}'.format(3)}
${'{:,.2f}'.format(1234567.891)}
${'{:.3}'.format(1234.5)}
${'{:c}'.format(65)}
${format(3.5, '.2f')}
${format(5)}
