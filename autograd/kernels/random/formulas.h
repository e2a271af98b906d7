// Formulas that the CPU's and CUDA's random numbers share, so that both have the same bits. An includer defines
// TAPE_FORMULA, the specifiers of a function; Number is a double whose operations are rounded one by one.
#ifndef TAPE_FORMULA
#error "define TAPE_FORMULA before this header"
#endif

/// ln(m 2^exponent) for m in [sqrt(1/2), sqrt(2)) (fdlibm's e_log).
template <class Number>
TAPE_FORMULA Number log_of_parts(Number m, Number exponent) {
  const Number f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z;
  const Number t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const Number t2 =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const Number half = 0.5 * f * f;
  return exponent * 6.93147180369123816490e-01 -
         ((half - (s * (half + t1 + t2) + exponent * 1.90821492927058770002e-10)) - f);
}

/// sin r and cos r for |r| <= pi / 4 (fdlibm's polynomials).
template <class Number>
TAPE_FORMULA void sine_near_zero(Number r, Number& sine, Number& cosine) {
  const Number z = r * r;
  sine = r + r * z *
                 (-1.66666666666666324348e-01 +
                  z * (8.33333333332248946124e-03 +
                       z * (-1.98412698298579493134e-04 +
                            z * (2.75573137070700676789e-06 +
                                 z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
  cosine = 1.0 - 0.5 * z +
           z * z *
               (4.16666666666666019037e-02 +
                z * (-1.38888888888741095749e-03 +
                     z * (2.48015872894767294178e-05 +
                          z * (-2.75573143513906633035e-07 +
                               z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
}

#undef TAPE_FORMULA
